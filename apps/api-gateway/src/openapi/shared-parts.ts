import type { OpenAPIObject } from '@nestjs/swagger';
import { Components, mapped, type Parts } from './components.js';
import type { JsonSchema } from './json-schema.js';
import { ERROR_SCHEMA_NAME } from './refusal-responses.js';
import { extendBases, shareObjects } from './shared-objects.js';

/**
 * The names of the answers of operations: the object in `data`, or one item of a list. Other answers are named after
 * their operation.
 */
const ANSWERS: Record<string, string> = {
  getHealth: 'Health',
  createChallenge: 'Challenge',
  register: 'Registration',
  recover: 'RecoveredAccount',
  openSession: 'Session',
  getOidcProvider: 'OidcProvider',
  beginOidcSignIn: 'OidcSignIn',
  openOidcSession: 'Session',
  listWallets: 'Wallet',
  linkWallet: 'Wallet',
  getWallet: 'Wallet',
  updateWallet: 'Wallet',
  claimAgent: 'Claim',
  createClaimCode: 'ClaimCode',
  agreeToClaim: 'Claim',
  getProfile: 'Profile',
  listApiKeys: 'ApiKey',
  createApiKey: 'CreatedApiKey',
  getApiKey: 'ApiKeyDetail',
  updateApiKey: 'ApiKeyDetail',
  getBudget: 'AgentBudget',
  updateBudget: 'AgentBudget',
  listEvents: 'AccountEvent',
  listWebhooks: 'Webhook',
  createWebhook: 'CreatedWebhook',
  getWebhook: 'Webhook',
  updateWebhook: 'Webhook',
  testWebhook: 'WebhookTest',
  listWebhookDeliveries: 'WebhookDelivery',
  replayWebhookDelivery: 'WebhookDelivery',
  listCategories: 'Category',
  searchListings: 'ListingSummary',
  getListing: 'Listing',
  createListing: 'CreatedListing',
  createListingChallenge: 'ListingChallenge',
  getEndpoint: 'Endpoint',
  updateEndpoint: 'Endpoint',
  testEndpoint: 'EndpointTest',
  executeCall: 'CallResult',
  executeKeylessCall: 'CallResult',
  listGatewayRequests: 'GatewayRequest',
  getGatewayRequest: 'GatewayRequestDetail',
  listLedger: 'LedgerEntry',
  listReceipts: 'ReceiptSummary',
  getReceipt: 'Receipt',
  getReceiptProof: 'ReceiptProof',
  subscribe: 'Subscription',
  listSubscriptions: 'SubscriptionSummary',
  getSubscription: 'SubscriptionDetail',
  createPayment: 'SubscriptionOffer',
  getPayment: 'Payment',
  listPaymentRoutes: 'PaymentRoute',
  listReviews: 'Review',
  createReview: 'Review',
  getAgent: 'Agent',
  getScore: 'Score',
  getBalance: 'Balance',
  getStatement: 'LedgerEntry',
  listRefunds: 'Refund',
  confirmRefund: 'Refund',
  payFees: 'FeePayment',
  paySandbox: 'SandboxPayment',
  listRecoveryActions: 'RecoveryAction',
  getListingQuality: 'DayQuality',
  getOverview: 'OperatorsOverview',
  searchAll: 'OperatorsSearch',
  inspectAgent: 'InspectedAccount',
  inspectListing: 'InspectedListing',
  inspectPayment: 'InspectedPayment',
  inspectCall: 'InspectedCall',
  listAudit: 'OperatorAction',
  suspendAgent: 'SuspendedAgent',
  releaseAgent: 'SuspendedAgent',
  suspendListing: 'HeldListing',
  releaseListing: 'HeldListing',
  revokeAnyKey: 'RevokedKey',
};

/** The response for statuses that the document does not list. */
const REFUSAL: JsonSchema = {
  description: 'Any other refusal.',
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` } } },
};

/**
 * Moves repeated parts of the document to components and refers to them: examples of refusals, headers, bodies and
 * answers. These are half of the document, and language models pay for each token of it.
 */
export function shareParts(document: OpenAPIObject): void {
  const [examples, headers, parameters, schemas] = [
    new Components('examples'),
    new Components('headers'),
    new Components('parameters'),
    new Components('schemas'),
  ];
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item as Record<string, JsonSchema>));
  for (const operation of operations) {
    const body = (operation.requestBody as { content?: Record<string, { schema: JsonSchema }> } | undefined)?.content?.[
      'application/json'
    ];
    const operationId = String(operation.operationId);
    const name = `${operationId[0]!.toUpperCase()}${operationId.slice(1)}`;
    if (body?.schema.properties) body.schema = schemas.referTo(`${name}Body`, body.schema);
    const asked = (operation.parameters ?? []) as (JsonSchema & { in: string; name: string })[];
    operation.parameters = asked.map((parameter) =>
      parameter.in === 'header' ? parameters.referTo(parameter.name, parameter) : parameter,
    );
    for (const [status, response] of Object.entries(
      operation.responses as Record<
        string,
        { headers?: Parts; content?: Record<string, { schema?: Answer; examples?: Parts }> }
      >,
    )) {
      response.headers = mapped(response.headers, (header, name) => headers.referTo(name, header));
      const json = response.content?.['application/json'];
      if (json?.schema) json.schema = shareObjects(json.schema, [operationId], schemas);
      if (Number(status) < 400) {
        const answer = ANSWERS[operationId] ?? `${name}Answer`;
        nameAnswer(json?.schema, Number(status) === 202 ? `${answer}Pending` : answer, schemas);
        continue;
      }
      for (const content of Object.values(response.content ?? {}))
        content.examples = mapped(content.examples, (example, name) => examples.referTo(name, example));
    }
    Object.assign(operation.responses as object, { default: { $ref: '#/components/responses/Refusal' } });
  }
  document.components = Object.assign(document.components ?? {}, {
    schemas: { ...extendBases(schemas.parts), ...document.components?.schemas },
    examples: examples.parts,
    headers: headers.parts,
    parameters: parameters.parts,
    responses: { Refusal: REFUSAL },
  }) as OpenAPIObject['components'];
}

type Answer = JsonSchema & { properties?: { data?: JsonSchema & { items?: JsonSchema }; pagination?: JsonSchema } };

function nameAnswer(schema: Answer | undefined, name: string, schemas: Components): void {
  const { data, pagination } = schema?.properties ?? {};
  if (data?.items?.properties ?? data?.items?.allOf) data.items = schemas.referTo(name, data.items);
  if (data?.properties ?? data?.allOf) schema!.properties!.data = schemas.referTo(name, data);
  if (data?.oneOf) nameForms(data, name.replace(/Pending$/, ''), schemas);
  if (data?.items && pagination) {
    const isByPage = (pagination.properties as JsonSchema).page !== undefined;
    schema!.properties!.pagination = schemas.referTo(isByPage ? 'Pagination' : 'CursorPagination', pagination);
  }
}

/** Names each form of an answer after its `status`, by which clients tell them apart. */
function nameForms(data: JsonSchema, name: string, schemas: Components): void {
  const forms = (data.oneOf as Answer[]).map((form) => {
    const { const: status } = (form.properties as Record<string, { const: string }>).status!;
    return [status, schemas.referTo(`${name}${status[0]!.toUpperCase()}${status.slice(1)}`, form)] as const;
  });
  data.oneOf = forms.map(([, form]) => form);
  const mapping = Object.fromEntries(forms.map(([status, form]) => [status, form.$ref]));
  data.discriminator = { ...(data.discriminator as object), mapping };
}
