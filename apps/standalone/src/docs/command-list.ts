import { usageOf } from '../admin/command-line.js';
import { adminCommands } from '../admin/commands.js';

/** The commands of `market-admin`, as a Markdown list. */
export const commandList = (): string =>
  adminCommands.map((command) => `- \`${usageOf(command)}\`: ${command.help}`).join('\n');
