import type { INestApplicationContext } from '@nestjs/common';

/** What a command was typed with. */
export interface CommandInput {
  /** Who answers for it: the user of the operating system, or whom `--as` names. */
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
 * What an operator may do to a service from a terminal. It runs in the service's own container, so that its use cases
 * and their events are the same as over the bus; but on no bus: nobody else can be asked, and what it writes to the
 * outbox is sent by the processes of the service.
 */
export interface CommandDefinition {
  /** `<noun> <verb>`, of no other service. */
  name: string;
  /** One sentence for operators. */
  help: string;
  /** What must follow the name, in order. */
  arguments?: readonly string[];
  /** Each takes a text: `--<name> <text>`. `as` and `help` mean the same for every command. */
  options?: Readonly<Record<string, CommandOption>>;
  /** @returns what to print. @throws CommandFailure when the answer is no. */
  run(container: Pick<INestApplicationContext, 'get'>, input: CommandInput): Promise<string>;
}

/** Ends a command with exit code 1; its message is for the operator to read. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
