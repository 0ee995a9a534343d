import { by, COUNTED, e2e, int, partly, unit, type Threat } from './proofs.js';

const SECRETS = e2e('secrets', 'stay out of logs, events, messages, caches and tables', 'distributed');
const SHOWN_ONCE = e2e('secrets', 'are shown once, to whom they belong', 'distributed');
const ANONYMOUS = e2e('anonymous-costs', 'is bounded, in statements, rows and processor time');
const BROKEN_SELLERS = unit('apps/gateway/src/egress/seller-client', 'calls %s a failure, in time');

/** With endpoints, identities and keys. */
export const ACCESS: Record<string, Threat> = {
  E1: by(
    'endpoints at private addresses, in every spelling',
    unit('apps/gateway/src/egress/ssrf', 'refuses every spelling when it is registered'),
    unit('apps/gateway/src/egress/ssrf', 'refuses every spelling when it is dialled'),
  ),
  E2: by('literal addresses skip DNS', unit('apps/gateway/src/egress/ssrf', 'refuses literals without asking DNS')),
  E3: by('a name whose address changes', COUNTED.rebinding),
  E4: by('redirects', unit('apps/gateway/src/egress/seller-client', 'does not follow a %i')),
  E5: by(
    'other schemes, users, fragments, odd characters',
    unit('apps/gateway/src/egress/endpoint-url.policy', 'refuses %j as %s'),
  ),
  E6: by(
    'an endpoint that is the marketplace',
    e2e('endpoints', 'is not set at any address of its own'),
    e2e('endpoints', 'is called once, by whatever name it is reached'),
  ),
  E7: by(
    'answers that never end',
    BROKEN_SELLERS,
    unit('apps/gateway/src/egress/seller-connections', 'gives up on a connection that is not made in time'),
  ),
  E8: by('huge and compressed answers', BROKEN_SELLERS, COUNTED.answers),
  E9: by(
    'answers that are no JSON, or odd',
    BROKEN_SELLERS,
    e2e('paid-call', 'carries any JSON of the seller as it is'),
  ),
  E10: by(
    'broken HTTP',
    unit('apps/gateway/src/egress/seller-client', 'closes every connection that carried a broken answer'),
  ),
  E11: by('headers of the seller reach the buyer', COUNTED.answers),
  E12: by('credentials of the buyer reach the seller', e2e('endpoints', 'gets the bytes of the buyer alone')),
  E13: by(
    'headers that break out of their line',
    COUNTED.headerValues,
    unit('apps/gateway/src/egress/seller-client', 'refuses headers that would break out of the message'),
  ),
  E14: by(
    'forged and repeated calls at the seller',
    COUNTED.signedRequests,
    unit('libs/sdk/src/seller-signature', 'refuses any changed byte'),
  ),
  E15: by('calls fail while a secret is rotated', int('gateway/endpoints', 'for every call through many rotations')),
  E16: by(
    'the endpoint test as a port scanner',
    int('gateway/endpoints', 'says no more of one that cannot be reached than that'),
    int('gateway/endpoints', 'is tested at most ten times a minute'),
  ),
  E17: by(
    'a dead seller takes the places of others',
    e2e('seller-failures', 'holds up no other seller, however long it takes'),
  ),
  E18: by(
    'a storm of retries',
    unit('apps/gateway/src/egress/seller-connections', 'sends a request once more, on a new connection'),
  ),
  E19: by(
    'certificates that nobody vouches for',
    unit('apps/gateway/src/egress/seller-connections', 'refuses a certificate that nobody vouches for'),
  ),
  E20: by(
    'Host and X-Forwarded-For',
    int('api-gateway/headers', 'never name the host a client pretends to ask'),
    int('api-gateway/rate-limits', 'ignore X-Forwarded-For from anyone'),
  ),
  A1: by('a nonce is used twice', COUNTED.signers),
  A2: by('a proof for another purpose', int('identity/proofs', 'of one purpose are good for no other')),
  A3: by(
    'a proof of another wallet, chain or domain',
    int('identity/register', 'refuses a signature over the message with any one line changed'),
  ),
  A4: by(
    'forged and malleable signatures',
    unit('apps/identity/src/wallets/ed25519-strict', 'refuses every forgery under a key of small order'),
    COUNTED.flips,
    COUNTED.malleable,
    COUNTED.evmFlips,
    unit('apps/identity/src/wallets/evm-signature', 'refuses high s and every other v'),
  ),
  A5: by(
    'many spellings of one wallet',
    unit('apps/identity/src/wallets/wallet-address', 'reads 200 spellings of one wallet'),
  ),
  A6: by(
    'contracts that answer slowly, or differently later',
    int('identity/contract-wallets', 'that compute for ever cost 2 seconds at most'),
    int('identity/contract-wallets', 'take nothing from wallets with a private key'),
  ),
  A7: by(
    'proofs of work that are spliced or oversized',
    unit('libs/kernel/src/proof-of-work', 'is not solved by moving characters'),
  ),
  A8: by('a flood of challenges', int('identity/create-challenge', 'does not fill the table')),
  A9: by('signatures use up the processor', ANONYMOUS),
  A10: by('one wallet registers many times at once', COUNTED.registrations),
  A11: by(
    'recovery by a wallet that may not',
    int('identity/recover', 'is for active wallets with the capability recovery'),
  ),
  A12: by(
    'an agent is claimed by others',
    int('identity/claims', 'go to one of 32 humans who claim at once'),
    int('identity/claims', 'are for the agent and the human that the wallet agreed to'),
  ),
  A13: by('the last wallet that recovers is removed', COUNTED.lastWallets),
  A14: by('a wallet of two accounts', int('identity/wallets', 'belong to one account')),
  A15: by(
    'clocks that differ',
    int('identity/sessions', 'last 12 hours by the clock of PostgreSQL'),
    int('catalog/create-listing', 'is timed by the database'),
  ),
  K1: by(
    'stolen tables show keys',
    int('identity/api-keys', 'stores no raw key and no session token anywhere'),
    SECRETS,
  ),
  K2: by(
    'stored secrets are swapped or altered',
    unit('libs/persistence/src/field-cipher', 'does not open a value of which any bit was altered'),
    unit('libs/persistence/src/field-cipher', 'does not open a value that was moved to another row'),
  ),
  K3: by('secrets in logs, traces, messages and answers', SECRETS),
  K4: by('a key is shown twice', SHOWN_ONCE),
  K5: by('a revoked key goes on working', e2e('identity', 'revokes them, and they are dead within a second')),
  K6: partly(
    'keys are looked up by their SHA-256; the time of answers tells nothing on two shared processors',
    'answers tell which keys exist',
    COUNTED.reads,
    int('api-gateway/access', 'is refused in the same words, however the key is not good'),
  ),
  K7: by('a route without a scope', int('api-gateway/boot', 'naming the route, when a route declares no access rule')),
  K8: by(
    'credentials anywhere else',
    e2e('identity', 'is nobody with anything but exactly one well-formed Bearer key'),
  ),
  K9: by('the last use of a key is a hot row', int('identity/api-keys', 'writes the last use of a key once a minute')),
  K10: by(
    'a start with a wrong or missing variable',
    int('standalone/broken-configurations', 'none of them starts anything'),
  ),
};
