import { CommandFailure, type CommandInput } from '@market/runtime';
import { parseArgs } from 'node:util';
import type { AdminCommand } from './admin-command.js';

const MAX_NAME_LENGTH = 200;

export interface CommandLine {
  command: AdminCommand;
  input: CommandInput;
}

/**
 * Parses the arguments after `market-admin`. Returns undefined when they ask for help.
 * @param user is recorded as the operator unless `--as` names another.
 * @throws CommandFailure that says what is wrong and shows the right syntax.
 */
export function readCommandLine(
  words: readonly string[],
  commands: readonly AdminCommand[],
  user: string,
): CommandLine | undefined {
  if (words.length === 0 || words.includes('--help')) return undefined;
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));
  if (!command) throw new CommandFailure(`there is no such command; these are:\n${helpOf(commands)}`);
  const wrong = (problem: string): CommandFailure => new CommandFailure(`${problem}\n  ${usageOf(command)}`);
  const { positionals, values } = parse(words.slice(command.name.split(' ').length), command, wrong);
  const { as: operator = user, ...options } = values;
  const expected = command.arguments ?? [];
  if (positionals.length !== expected.length)
    throw wrong(`takes ${expected.length} arguments, not ${positionals.length}`);
  for (const [name, { required }] of Object.entries(command.options ?? {})) {
    if (required && !options[name]?.trim()) throw wrong(`--${name} is required`);
  }
  if (!operator.trim() || operator.length > MAX_NAME_LENGTH)
    throw wrong(`--as must be 1 to ${MAX_NAME_LENGTH} characters`);
  return { command, input: { operator, arguments: positionals, options } };
}

function parse(
  args: string[],
  command: AdminCommand,
  wrong: (problem: string) => CommandFailure,
): { positionals: string[]; values: Record<string, string | undefined> } {
  const options = Object.fromEntries(
    [...Object.keys(command.options ?? {}), ...(takesAs(command) ? ['as'] : [])].map((name) => [
      name,
      { type: command.options?.[name]?.isFlag ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  try {
    const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
    const texts = Object.entries(values).map(([name, value]) => [name, value === true ? name : value]);
    return { positionals, values: Object.fromEntries(texts) as Record<string, string | undefined> };
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

const takesAs = ({ worksOn }: AdminCommand): boolean => worksOn !== 'http';

function usageOf(command: AdminCommand): string {
  const { name, arguments: expected = [], options = {} } = command;
  const named = Object.entries(options).map(([option, { required, isFlag }]) => {
    if (isFlag) return `[--${option}]`;
    return required ? `--${option} <text>` : `[--${option} <text>]`;
  });
  if (takesAs(command)) named.push('[--as <name>]');
  return [name, ...expected.map((argument) => `<${argument}>`), ...named].join(' ');
}

/** The help text, with one paragraph for each command. */
export const helpOf = (commands: readonly AdminCommand[]): string =>
  commands.map((command) => `  ${usageOf(command)}\n      ${command.help}`).join('\n');
