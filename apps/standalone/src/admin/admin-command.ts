import type { CommandDefinition, CommandInput, Environment } from '@market/runtime';

/** A command of operators. `run` gets an environment that names the databases. */
export interface AdminCommand extends Omit<CommandDefinition, 'run'> {
  run(input: CommandInput, env: Environment): Promise<string>;
  /** It works on the files of DATA_DIR, and is given no database. */
  usesFiles?: true;
}
