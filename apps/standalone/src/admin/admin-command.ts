import type { CommandDefinition, CommandInput, Environment } from '@market/runtime';

/** A command, and how it is run with an environment that names the databases. */
export interface AdminCommand extends Omit<CommandDefinition, 'run'> {
  run(input: CommandInput, env: Environment): Promise<string>;
}
