import { millrace } from './commands.ts';

const code = await millrace(process.argv.slice(2));
if (code !== undefined) process.exit(code);
