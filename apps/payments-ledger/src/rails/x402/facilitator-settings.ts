import { z } from 'zod';
import { parseCdpSecret, type CdpSecret } from './cdp-key.js';
import { isSolana } from './exact-payment.js';

/** A key of the operator in this process, or a facilitator over HTTP, which may require a token of CDP. */
export type FacilitatorChoice = { isOwn: true } | { isOwn: false; url: string; isCdp: boolean };

export interface FacilitatorOrder {
  /** The order on each network that has one of its own. */
  networks: Map<string, FacilitatorChoice[]>;
  everywhere: FacilitatorChoice[];
}

interface Settings {
  facilitatorOrder?: FacilitatorOrder;
  facilitatorApiKey?: string;
  facilitatorKey?: unknown;
  facilitatorSolanaKey?: unknown;
  cdpApiKeyId?: string;
  cdpApiKeySecret?: CdpSecret;
}

/** Source: docs.cdp.coinbase.com/x402/core-concepts/facilitator. */
const CDP_HOST = 'api.cdp.coinbase.com';
const CDP: FacilitatorChoice = { isOwn: false, url: `https://${CDP_HOST}/platform/v2/x402`, isCdp: true };
const URLS = 'PAYMENTS_LEDGER_X402_FACILITATOR_URL';
const API_KEY = 'PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY';
const CDP_ID = 'PAYMENTS_LEDGER_X402_CDP_API_KEY_ID';
const CDP_SECRET = 'PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET';

/**
 * Parses `cdp,https://a,own`: facilitators in order of preference. `eip155:8453=own|cdp` sets the order on one network.
 * `cdp+https://a` is one that takes the tokens of CDP elsewhere.
 */
export const facilitatorOrder = z.string().transform((text, context): FacilitatorOrder => {
  const networks = new Map<string, FacilitatorChoice[]>();
  const everywhere: FacilitatorChoice[] = [];
  for (const entry of text.split(',').map((each) => each.trim())) {
    const [, network, list] = /^((?:eip155|solana):[\w]+)=(.+)$/.exec(entry) ?? [];
    const choices = (list?.split('|') ?? [entry]).map(choiceOf);
    if (choices.includes(undefined))
      context.addIssue(
        'it is a list of cdp, own and http(s) URLs, or of those of a network, as in eip155:8453=cdp|own',
      );
    else if (network === undefined) everywhere.push(...(choices as FacilitatorChoice[]));
    else networks.set(network, choices as FacilitatorChoice[]);
  }
  for (const list of [everywhere, ...networks.values()]) {
    const names = list.map((choice) => (choice.isOwn ? 'own' : new URL(choice.url).host));
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) context.addIssue(`names ${twice} twice`);
  }
  return { networks, everywhere };
});

function choiceOf(text: string): FacilitatorChoice | undefined {
  if (text === 'own') return { isOwn: true };
  if (text === 'cdp') return CDP;
  const [, cdp, url] = /^(cdp\+)?(https?:\/\/.+)$/.exec(text) ?? [];
  return url !== undefined && URL.canParse(url)
    ? { isOwn: false, url, isCdp: cdp !== undefined || new URL(url).host === CDP_HOST }
    : undefined;
}

export const cdpSecret = z.string().transform((text, context): CdpSecret => {
  try {
    return parseCdpSecret(text);
  } catch (error) {
    context.addIssue((error as Error).message);
    return z.NEVER;
  }
});

/** Who settles on a network, in order. Without a list it is CDP if there is a key for it, and otherwise the own key. */
export function facilitatorsOn(network: string, settings: Settings): FacilitatorChoice[] {
  const { facilitatorOrder: order, cdpApiKeyId } = settings;
  const choices = order
    ? (order.networks.get(network) ?? order.everywhere)
    : [cdpApiKeyId ? CDP : ({ isOwn: true } as const)];
  return choices.filter((choice) => !choice.isOwn || ownKeyOn(network, settings).isSet);
}

/** The API key of each facilitator by its host. */
export function apiKeysOf({ facilitatorOrder: order, facilitatorApiKey: text }: Settings): Map<string, string> {
  const hosts = hostsOf(order);
  if (text === undefined) return new Map();
  const [host] = hosts;
  if (hosts.size === 1 && !text.startsWith(`${host}=`)) return new Map([[host!, text]]);
  return new Map(
    text.split(',').flatMap((entry) => {
      const found = [...hosts].find((each) => entry.startsWith(`${each}=`));
      return found === undefined ? [] : [[found, entry.slice(found.length + 1)] as const];
    }),
  );
}

const choicesOf = (order: FacilitatorOrder | undefined): FacilitatorChoice[] =>
  order ? [...order.everywhere, ...[...order.networks.values()].flat()] : [];

const hostsOf = (order: FacilitatorOrder | undefined): Set<string> =>
  new Set(choicesOf(order).flatMap((choice) => (choice.isOwn || choice.isCdp ? [] : new URL(choice.url).host)));

const ownKeyOn = (network: string, { facilitatorKey, facilitatorSolanaKey }: Settings) =>
  isSolana(network)
    ? { variable: 'PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY', isSet: facilitatorSolanaKey !== undefined }
    : { variable: 'PAYMENTS_LEDGER_X402_FACILITATOR_KEY', isSet: facilitatorKey !== undefined };

export function facilitatorProblems(settings: Settings, chains: Map<string, string[]>): string[] {
  const { facilitatorOrder: order, facilitatorApiKey, cdpApiKeyId, cdpApiKeySecret } = settings;
  const problems: string[] = [];
  const choices = choicesOf(order);
  if (Boolean(cdpApiKeyId) !== Boolean(cdpApiKeySecret))
    problems.push(cdpApiKeyId ? `${CDP_SECRET}: is needed with ${CDP_ID}` : `${CDP_ID}: is needed with ${CDP_SECRET}`);
  else if (!cdpApiKeyId && choices.some((choice) => !choice.isOwn && choice.isCdp))
    problems.push(`${CDP_ID}: is needed with a facilitator of CDP in ${URLS}`);
  const hosts = hostsOf(order);
  const given = facilitatorApiKey?.split(',') ?? [];
  if (facilitatorApiKey !== undefined && hosts.size === 0)
    problems.push(`${API_KEY}: is sent to no facilitator in ${URLS}`);
  else if (hosts.size > 1 && given.some((entry) => ![...hosts].some((host) => entry.startsWith(`${host}=`))))
    problems.push(`${API_KEY}: with several facilitators it is a list of host=key with the hosts in ${URLS}`);
  for (const network of order?.networks.keys() ?? [])
    if (!chains.has(network)) problems.push(`${URLS}: names ${network}, and PAYMENTS_LEDGER_X402_CHAINS does not`);
  if (choices.some(({ isOwn }) => isOwn) && ![...chains.keys()].some((network) => ownKeyOn(network, settings).isSet))
    problems.push(`${ownKeyOn([...chains.keys()][0]!, settings).variable}: is needed with own in ${URLS}`);
  for (const [network, servers] of chains) {
    const { variable } = ownKeyOn(network, settings);
    const able = facilitatorsOn(network, settings);
    if (able.length === 0)
      problems.push(`${URLS}: is needed with ${network} in PAYMENTS_LEDGER_X402_CHAINS, or ${variable}`);
    if (able.some(({ isOwn }) => isOwn) && servers.length === 0)
      problems.push(`PAYMENTS_LEDGER_X402_CHAINS: names no RPC server of ${network}, which ${variable} needs`);
  }
  return problems;
}
