import type { ServiceName } from '@market/contracts';
import type { INestApplicationContext } from '@nestjs/common';

/** The input of a command. */
export interface CommandInput {
  /** The name that is recorded: the user of the operating system, or the value of `--as`. */
  operator: string;
  /** The arguments, in the order and number that the command defines. */
  arguments: readonly string[];
  /** The options that were given. */
  options: Readonly<Record<string, string | undefined>>;
}

export interface CommandOption {
  help: string;
  required?: boolean;
  /** It takes no text: whether it is given says everything. */
  isFlag?: true;
}

/**
 * A command for operators. It runs in the service's own container, with the same use cases and events as requests over
 * the bus. It is not connected to the bus of running processes: they publish the events that it writes to the outbox,
 * and it can send requests only to the services that it names.
 */
export interface CommandDefinition {
  /** `<noun> <verb>`, unique among all services. */
  name: string;
  /** One sentence for operators. */
  help: string;
  /** The arguments that must follow the name, in order. */
  arguments?: readonly string[];
  /** Services to which the command sends requests. They run in the same process, on their own databases. */
  asks?: readonly ServiceName[];
  /**
   * An option has a text value, `--<name> <text>`, unless it is a flag, whose value is its name. `as` and `help` mean the
   * same for every command.
   */
  options?: Readonly<Record<string, CommandOption>>;
  /** @returns what to print. @throws CommandFailure if the command fails. */
  run(container: Pick<INestApplicationContext, 'get'>, input: CommandInput): Promise<string>;
}

/** Ends a command with exit code 1. Its message is shown to the operator. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
