import type { CommandDefinition, CommandInput, Environment } from '@market/runtime';

/** A command of operators. */
export interface AdminCommand extends Omit<CommandDefinition, 'run'> {
  run(input: CommandInput, env: Environment): Promise<string>;
  /**
   * The environment names the databases, unless it works on the files of DATA_DIR, or asks the running marketplace, where the account that
   * signs in is the operator and `--as` names nobody.
   */
  worksOn?: 'files' | 'http';
}
