export class Reply {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

export function reply(status: number, body: unknown): Reply {
  return new Reply(status, body);
}

export class FileReply {
  constructor(
    readonly bytes: Uint8Array,
    readonly contentType: string,
  ) {}
}

/** An answer that is a file. The `formats` of the listing must name its type. */
export function file(bytes: Uint8Array, contentType: string): FileReply {
  return new FileReply(bytes, contentType);
}

export class UsedReply {
  constructor(
    readonly units: number,
    readonly answer: unknown,
  ) {}
}

/**
 * The answer to a call that costs what it uses, and how many units of its listing that is: JSON, or a `file()`. A stream
 * says it in its last event instead, as in `{ "units": 120 }`.
 */
export function used(units: number, answer: unknown): UsedReply {
  return new UsedReply(units, answer);
}
