import { z } from 'zod';

/** Reads `chain=value,…`; what does not fit its kind of chain is an issue. */
type PairsOf = (text: string, context: z.RefinementCtx) => [network: string, value: string][];

/** `<chain>=https://a|https://b,…`: a chain, and one or two RPC servers that must agree. */
export const rpcUrlsOf = (pairsOf: PairsOf) =>
  z.string().transform((text, context) => {
    const urls = new Map<string, string[]>();
    for (const [network, value] of pairsOf(text, context)) {
      const servers = value.split('|');
      if (servers.length > 2 || !servers.every((server) => URL.canParse(server) && /^https?:/.test(server))) context.addIssue(`${network} needs one or two http(s) URLs, separated by "|"`);
      urls.set(network, servers);
    }
    return urls;
  });
