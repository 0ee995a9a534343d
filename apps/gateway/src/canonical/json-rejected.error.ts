/** Why a JSON text was refused. Stable: these words reach clients in `error.details`. */
export type JsonRejectionReason =
  | 'invalid_utf8'
  | 'byte_order_mark'
  | 'invalid_json'
  | 'not_an_object'
  | 'too_deep'
  | 'too_many_keys'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'unsafe_number'
  | 'lone_surrogate'
  | 'nul_character';

/** The only error that scanning or digesting a body throws. Carries no part of the body. */
export class JsonRejected extends Error {
  override readonly name = 'JsonRejected';

  constructor(
    readonly reason: JsonRejectionReason,
    /** Index, in UTF-16 code units, of the offending character; 0 where bytes are not text at all. */
    readonly offset: number,
  ) {
    super(`${reason} at ${offset}`);
  }
}
