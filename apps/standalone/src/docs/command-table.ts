import { usageOf } from '../admin/command-line.js';
import { adminCommands } from '../admin/commands.js';

/** The commands of `npm run admin --`, as one Markdown table. */
export function commandTable(): string {
  const rows = adminCommands.map((command) => `| \`${usageOf(command).replaceAll('|', '\\|')}\` | ${command.help} |`);
  return ['| command | what it does |', '|---|---|', ...rows].join('\n');
}
