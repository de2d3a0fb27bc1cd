/** `outside-child.ts FOLDER ID…`: loads plugins as the program does, and prints what they were given as `millrace/plugin`. */
import { importPlugins } from '../../../config/plugins.ts';
import { Fault } from '../../../core/base/fault.ts';
import { contractVersion } from '../../../core/plugin/plugin.ts';

const [folder, ...ids] = process.argv.slice(2);
const { plugins, problems } = await importPlugins(Object.fromEntries(ids.map((id) => [id, true])), folder);
const found = plugins.slice(-ids.length).map(({ plugin }) => {
  const { Fault: theirs, version } = plugin as unknown as { Fault: unknown; version: unknown };
  return { id: plugin.id, hasOurFault: theirs === Fault, hasOurVersion: version === contractVersion };
});
process.stdout.write(JSON.stringify({ problems, found }));
