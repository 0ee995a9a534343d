import type { ServiceName } from '@market/contracts';
import type { INestApplicationContext } from '@nestjs/common';

/** The input of a command. */
export interface CommandInput {
  /** The name that is recorded: the user of the operating system, or the value of `--as`. */
  operator: string;
  /** As many as the command names, in its order. */
  arguments: readonly string[];
  /** The options that were given. */
  options: Readonly<Record<string, string | undefined>>;
}

export interface CommandOption {
  help: string;
  required?: boolean;
}

/**
 * A command for operators. It runs in the service's own container, with the same use cases and events as over the bus. It is on
 * no bus of running processes: they send what it writes to the outbox, and it can ask only the services that it names.
 */
export interface CommandDefinition {
  /** `<noun> <verb>`, of no other service. */
  name: string;
  /** One sentence for operators. */
  help: string;
  /** What must follow the name, in order. */
  arguments?: readonly string[];
  /** Services that it sends requests to. They run beside it in its process, on their own databases. */
  asks?: readonly ServiceName[];
  /** Each takes a text: `--<name> <text>`. `as` and `help` mean the same for every command. */
  options?: Readonly<Record<string, CommandOption>>;
  /** @returns what to print. @throws CommandFailure if the command fails. */
  run(container: Pick<INestApplicationContext, 'get'>, input: CommandInput): Promise<string>;
}

/** Ends a command with exit code 1; its message is for the operator to read. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
