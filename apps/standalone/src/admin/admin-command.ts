import type { CommandDefinition, CommandInput, Environment } from '@market/runtime';

/** A command of operators. */
export interface AdminCommand extends Omit<CommandDefinition, 'run'> {
  run(input: CommandInput, env: Environment): Promise<string>;
  /**
   * What the command works on; by default the databases that the environment names. `files`: the files of DATA_DIR.
   * `http`: the running marketplace, where the operator is the account that signs in, so that `--as` does not apply.
   */
  worksOn?: 'files' | 'http';
}
