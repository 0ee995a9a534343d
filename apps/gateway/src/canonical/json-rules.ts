/** What a JSON text may be, beyond well-formed UTF-8 JSON without a byte order mark. */
export interface JsonRules {
  /** Nesting of arrays and objects; `{}` is 1 deep. */
  maxDepth: number;
  /** Members of all objects of the text together. */
  maxKeys: number;
  /** Refuse a key that repeats within one object, compared after unescaping. */
  uniqueKeys: boolean;
  /** Refuse `__proto__`, and `prototype` directly inside `constructor`. */
  forbidPrototypeKeys: boolean;
  /** Refuse a number whose decimal value differs from the shortest spelling of its IEEE double (2^53+1, 1e400). */
  exactNumbers: boolean;
  /** Refuse an escaped half of a surrogate pair. */
  pairedSurrogates: boolean;
  /** Refuse an escaped U+0000 in a string or a key. */
  forbidNul: boolean;
}

/**
 * A buyer's body is hashed in canonical form and forwarded as raw bytes. These rules refuse every text for which the two
 * could mean different things to different parsers.
 */
export const buyerBodyRules: JsonRules = {
  maxDepth: 32,
  maxKeys: 2_000,
  uniqueKeys: true,
  forbidPrototypeKeys: true,
  exactNumbers: true,
  pairedSurrogates: true,
  forbidNul: false,
};

/** A seller's answer is relayed as it is; only what would break a reader of ours is refused. */
export const sellerAnswerRules: JsonRules = {
  maxDepth: 64,
  maxKeys: Infinity,
  uniqueKeys: false,
  forbidPrototypeKeys: false,
  exactNumbers: false,
  pairedSurrogates: false,
  forbidNul: false,
};
