/** `outside-child.ts FOLDER ID…`: loads plugins as the program does, and prints what they were given as `millrace/plugin`. */
import { Type } from '@sinclair/typebox';
import { importPlugins } from '../../../config/plugins.ts';
import { Fault } from '../../../core/base/fault.ts';

const [folder, ...ids] = process.argv.slice(2);
const { plugins, problems } = await importPlugins(Object.fromEntries(ids.map((id) => [id, true])), folder);
const found = plugins.slice(-ids.length).map(({ plugin }) => {
  const { Fault: theirs, Type: type } = plugin as unknown as { Fault: unknown; Type: unknown };
  return { id: plugin.id, hasOurFault: theirs === Fault, hasOurType: type === Type };
});
process.stdout.write(JSON.stringify({ problems, found }));
