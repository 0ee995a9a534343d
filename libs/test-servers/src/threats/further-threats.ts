import { by, COUNTED, e2e, int, partly, unit, type Threat } from './proofs.js';

const SHOWN_ONCE = e2e('secrets', 'are shown once, to whom they belong', 'distributed');
const ANONYMOUS = e2e('anonymous-costs', 'is bounded, in statements, rows and processor time');
const OTHERS = e2e('access-matrix', 'tells what exists and is not yours as little as what does not exist');
const PRINCIPALS = int('libs/messaging/src/nats/principals', 'is refused with a proof that the edge did not make');
const TOPOLOGY = int('libs/messaging/src/nats/server-config', 'say and hear what it declares');
const TWO_ONLY = int('libs/messaging/src/nats/broker-faults', 'tells nobody but the two where a request is answered');

/** With objects, input, the bus, faults, load, reputation, packages and what is new. */
export const FURTHER: Record<string, Threat> = {
  Z1: by("others' objects", OTHERS),
  Z2: by('what one side learns of the other', e2e('access-matrix', 'lets each side of a purchase see its own side')),
  Z3: by('fields that nobody may set', e2e('mass-assignment', 'each column of each table that is no field')),
  Z4: by('a private endpoint is shown', SHOWN_ONCE),
  Z5: by('hidden listings', e2e('listings-states', 'hides the listing from others')),
  Z6: by(
    'humans on routes of agents, and the other way round',
    e2e('access-matrix', 'is also the human that has claimed the agent'),
  ),
  Z7: by('other spellings of paths and methods', e2e('access-matrix', 'nothing opens that is closed')),
  Z8: by('one service speaks for an account', PRINCIPALS),
  I1: by('any input of any operation', COUNTED.fuzz, COUNTED.edgeFuzz),
  I2: by(
    'SQL in searches and filters',
    COUNTED.fuzz,
    int('catalog/search-listings', 'takes whatever punctuation for text'),
  ),
  I3: by(
    'patterns that never end',
    unit('libs/json-schema/src/linear-reg-exp', 'decides a megabyte'),
    unit('apps/catalog/src/listings/listing-text', 'are judged quickly at 100 KB'),
  ),
  I4: by(
    'depth, size and number',
    unit('apps/api-gateway/src/http/json-body', 'may be 32 levels deep and no deeper'),
    int('api-gateway/bad-input', 'takes 256 KiB of JSON, 1 MiB for a new listing, and not a byte more'),
  ),
  I5: by(
    'prototypes are polluted',
    unit('apps/api-gateway/src/http/json-body', 'may not name the key %s, at any depth'),
    COUNTED.fuzz,
  ),
  I6: by(
    'NUL, surrogates and other odd text',
    e2e('fuzz-bounds', 'are all there is to a text'),
    int('api-gateway/bad-input', 'refuses NUL and unpaired surrogates'),
  ),
  I7: by(
    'pages beyond the end',
    int('catalog/search-listings', 'has no page beyond what is counted'),
    unit('apps/api-gateway/src/http/query', 'refuses or reads any query without failing'),
  ),
  I8: by('a flood of parameters', int('api-gateway/bad-input', 'survives a flood of parameters')),
  I9: by(
    'odd content types and framing',
    int('api-gateway/bad-input', 'refuses a body without a type, and one that is compressed'),
  ),
  I10: by(
    'connections that bring nothing',
    e2e('fuzz-sockets', 'are closed before long, and nobody else waits for them'),
    e2e('fuzz-sockets', 'are so many from one address and no more'),
  ),
  I11: by(
    'markup in texts',
    e2e('console-pages', 'show what sellers and buyers wrote as text'),
    e2e('listings-fields', 'is an http or https URL and nothing else'),
  ),
  I12: by(
    'odd numbers',
    unit('libs/kernel/src/money', 'reads the JSON number %p'),
    int('api-gateway/bad-input', 'refuses the price %p'),
  ),
  N1: by(
    'a bus that is open',
    TOPOLOGY,
    int('libs/messaging/src/nats/server-config', 'let nobody in without a credential'),
  ),
  N2: by('ids in subjects', TOPOLOGY),
  N3: by(
    "others' answers",
    int('libs/messaging/src/nats/server-config', 'show no service the answers another one gets'),
    TWO_ONLY,
  ),
  N4: by('events come twice', COUNTED.events),
  N5: by(
    'events out of order',
    int('reputation/call-facts', 'are the same however often and in whatever order'),
    int('catalog/projections', 'shows the newest version, however often and in whatever order'),
  ),
  N6: by(
    'a crash before an event is published',
    int('libs/persistence/src/outbox/events', 'also when their process died between the commit and the publishing'),
  ),
  N7: by(
    'events that no handler takes',
    COUNTED.events,
    int('libs/persistence/src/outbox/events', 'no more once they are dead'),
  ),
  N8: by(
    'NATS is away, hangs or forgets',
    int('libs/messaging/src/nats/broker-faults', 'that is killed and comes back'),
    int('libs/messaging/src/nats/broker-faults', 'that comes back without its memory'),
  ),
  N9: by(
    'requests that nobody serves',
    int('libs/messaging/src/transport', 'that nobody serves is refused as unavailable, at once'),
  ),
  N10: by('garbage on the bus', COUNTED.garbage),
  F1: by('PostgreSQL stops at once', COUNTED.kills),
  F2: by(
    'PostgreSQL ends connections, deadlocks, times out',
    int('libs/persistence/src/database', 'that lost a deadlock runs again'),
    int('libs/persistence/src/database', 'between two statements of a transaction'),
  ),
  F3: by('the connection is lost during COMMIT', COUNTED.commits),
  F4: by('PostgreSQL takes no writes', int('libs/persistence/src/outage', 'tells that the server takes no writes')),
  F5: by(
    'Redis is away, slow or wrong',
    int('libs/limits/test/redis-limits', 'never allows more than twice the limit'),
  ),
  F6: by(
    'one service is away',
    int('gateway/paid-call', 'answers what was delivered while the catalog is away'),
    COUNTED.kills,
  ),
  F7: by('rolling restarts', COUNTED.rolls),
  F8: by(
    'a process that is stopped keeps its lock',
    int('libs/persistence/src/locks', 'is free soon after its holder was stopped'),
    e2e('faults', 'a process that is paused loses its calls to another', 'distributed'),
  ),
  F9: by(
    'no sockets, and errors that nobody caught',
    unit('apps/gateway/src/egress/seller-connections', 'blames no seller for a lack of sockets'),
  ),
  F10: partly(
    'there is no release before this one',
    'two versions at once',
    int('standalone/migrations', 'comes up once, also when many processes start together'),
  ),
  F11: by('a backup that does not fit', e2e('backup', 'is made while it sells, checked, and restored')),
  O1: by('more load than it carries', e2e('overload', 'refuses one more with 503')),
  O2: by(
    'one account takes the place of others',
    e2e('rate-limits', 'hold for the calls that one account has under way'),
  ),
  O3: by(
    'many ask for what is no longer cached',
    unit('libs/runtime/src/lookup-cache', 'loads once for all who ask at the same time'),
  ),
  O4: by(
    'work for who is gone',
    int('libs/messaging/src/transport', 'whose deadline is over is dropped'),
    unit('apps/gateway/src/egress/seller-client', 'ends at once when the caller gives up'),
  ),
  O5: by('retries multiply', unit('libs/messaging/src/message-bus', 'is sent again, three times at most')),
  O6: by(
    'limits are evaded by many addresses',
    unit('apps/api-gateway/src/http/client-address', 'is one for ten thousand addresses of one /64'),
  ),
  R1: by('reviews among linked accounts', int('reputation/reviews', 'is refused between accounts linked')),
  R2: by(
    'reviews of what was not bought',
    e2e('reputation', 'are refused to who paid for nothing that was delivered'),
    e2e('reputation', 'are written within 30 days'),
  ),
  R3: by('rings', int('reputation/scores', 'are a ring of 50 that trade 10,000 times')),
  R4: by(
    'bad reviews by the hundred',
    unit('apps/reputation/src/score/score', 'against another seller is in proportion'),
  ),
  R5: by('quick proofs of work', int('reputation/scores', 'shows how fast proofs of work were solved')),
  R6: by(
    'scores depend on the order of facts',
    int('reputation/scores', 'is the same however often and in whatever order'),
  ),
  R7: by(
    'a flood of listings',
    unit(
      'apps/catalog/src/challenges/listing-difficulty',
      'makes a thousand listings in an hour cost more than anyone has',
    ),
  ),
  R8: by('sellers that deliver nothing of worth', e2e('listings-quality', 'is nothing that a seller writes')),
  R9: by(
    'descriptions that instruct agents',
    unit('apps/api-gateway/src/mcp/mcp-servers', 'comes before the description'),
  ),
  C1: by(
    'packages that were changed',
    unit('apps/standalone/src/docs/lock-file', 'says of each package of the registry what is in it'),
  ),
  C2: partly(
    'npm audit asks a registry, and is run by who has one',
    'packages with known faults',
    unit('apps/standalone/src/docs/lock-file', 'has no package older than its floor'),
  ),
  C3: by('stack traces and banners', COUNTED.fuzz, e2e('edge', 'that name no server, no framework and no version')),
  C4: by(
    'routes that nobody documented',
    unit('apps/standalone/src/docs/generated-documents', 'name everything that is served'),
  ),
  S1: by(
    'the fee payer on Solana is drained',
    unit('apps/payments-ledger/src/rails/x402/settlement-cost', 'is bounded on Solana'),
  ),
  S2: by(
    'code of a payer burns gas',
    unit('apps/payments-ledger/src/rails/x402/settlement-cost', 'is bounded in gas by the fee'),
    int('payments-ledger/x402-facilitators', 'pay no more gas than was looked at'),
  ),
  S3: by(
    'the bus key of a service',
    PRINCIPALS,
    TOPOLOGY,
    int('libs/messaging/src/nats/server-config', 'let JetStream deliver nothing into requests'),
  ),
  S4: by(
    'answers for the requests of others',
    TWO_ONLY,
    int('libs/messaging/src/nats/server-config', 'let a service answer those that call it'),
  ),
  S5: by(
    'schemas that take long',
    e2e('listing-schemas', 'takes little time from others'),
    unit('libs/json-schema/src/fair-checks', 'give all sellers together half of the threads'),
  ),
  S6: by(
    "one buyer spends everybody's budget",
    int('payments-ledger/relay-rail', 'get through when one buyer has its unpaid offer looked at'),
    unit('apps/payments-ledger/src/rails/relay/request-budget', 'gives one buyer a quarter'),
  ),
  S7: by(
    'sales to oneself make gold',
    unit('apps/reputation/src/score/score', 'is no gold while the operator has received less'),
  ),
  S8: by('permits are lost by who hangs up', e2e('lists', 'leave no permit of a stream whose client hangs up')),
  S9: by('requests without a credential are dear', ANONYMOUS),
  S10: by('challenges push out others', int('identity/create-challenge', 'is always given, and stays answerable')),
  S11: by(
    'offers that nobody pays fill tables',
    int('payments-ledger/offers', 'has so many open offers and no more'),
    int('payments-ledger/keep-offers', 'are dropped whole when all their offers are over'),
  ),
  S12: by('suspended accounts go on', e2e('operators-api', 'ends the event stream of an agent that it suspends')),
  S13: by(
    'hidden characters and false prices',
    unit('libs/kernel/src/hidden-characters', 'hides nothing, unlike %j'),
    unit('apps/api-gateway/src/mcp/mcp-servers', 'comes before the description'),
  ),
  S14: by(
    'headers larger than proxies take',
    e2e('small-headers', 'the head of a 402 is small, and its body has everything'),
  ),
  S15: by(
    'one call is signed twice',
    e2e('x402-keyless', 'that signs again under one key while its call is under way'),
  ),
  S16: by(
    'two writes lock in two orders',
    e2e('listing-writes', 'wait for each other in one order, every pair of them'),
  ),
  S17: by('stored files run as script', e2e('files', 'are paid, and given as JSON, as bytes, and again')),
  S18: by(
    'results that another delivers',
    COUNTED.deliveries,
    e2e('jobs', 'are refused in the order that tells a stranger nothing'),
  ),
};
