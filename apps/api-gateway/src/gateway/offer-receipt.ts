const NAME = 'offer-receipt';
const $schema = 'https://json-schema.org/draft/2020-12/schema';
const signed = {
  type: 'object',
  properties: {
    format: { type: 'string', enum: ['jws'] },
    acceptIndex: { type: 'integer' },
    signature: { type: 'string' },
  },
  required: ['format', 'signature'],
};

interface Signed {
  format: 'jws';
  signature: string;
}

/**
 * The extension `offer-receipt`: it signs each of the `accepts`, so that no intermediary can change the recipient or
 * the amount. Keys are at /.well-known/did.json. Source: specs/extensions/extension-offer-and-receipt.md of
 * github.com/coinbase/x402.
 * @param signatures compact JWS, in the order of `accepts`.
 */
export const signedOffers = (
  signatures: string[],
): Record<typeof NAME, { info: { offers: (Signed & { acceptIndex: number })[] }; schema: object }> => ({
  [NAME]: {
    info: { offers: signatures.map((signature, acceptIndex) => ({ format: 'jws', acceptIndex, signature })) },
    schema: { $schema, type: 'object', properties: { offers: { type: 'array', items: signed } }, required: ['offers'] },
  },
});

/** Only the signed offers of some of the `accepts`, in their order and with an empty schema. */
export function offersOf(extensions: Record<string, object>, acceptIndexes: number[]): object {
  const extension = extensions[NAME] as ReturnType<typeof signedOffers>[typeof NAME] | undefined;
  if (!extension) return {};
  const offers = acceptIndexes.flatMap((index, acceptIndex) => {
    const offer = extension.info.offers.find((each) => each.acceptIndex === index);
    return offer ? [{ ...offer, acceptIndex }] : [];
  });
  return { [NAME]: { info: { offers }, schema: {} } };
}

/** The same extension for the receipt of a delivered call. */
export const signedReceipt = (
  signature: string,
): Record<typeof NAME, { info: { receipt: Signed }; schema: object }> => ({
  [NAME]: {
    info: { receipt: { format: 'jws', signature } },
    schema: { $schema, type: 'object', properties: { receipt: signed }, required: ['receipt'] },
  },
});
