import { NEXT_ACTIONS } from '@market/kernel';
import { Injectable } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { SessionCookie } from '../http/session-cookie.js';
import { INTERFACE_VERSION } from '../platform/interface-version.js';
import { describeFields } from './describe-fields.js';
import { objectSchema } from './json-schema.js';
import { documentRawBodies } from '../gateway/gateway.openapi.js';
import { documentListingReferences } from './listing-references.js';
import { ERROR_SCHEMA_NAME, RECOVERY_SCHEMA } from './refusal-responses.js';
import { shareParts } from './shared-parts.js';
import { documentUnexpectedBodies } from './unexpected-bodies.js';

const recoverySchema = objectSchema(
  {
    next_action: { type: 'string', enum: NEXT_ACTIONS },
    keep: { type: 'array', items: { type: 'string' }, description: 'Headers to send again.' },
    drop: { type: 'array', items: { type: 'string' }, description: 'Headers to leave out.' },
    retry_same_route: { type: 'boolean' },
    use_new_idempotency_key: { type: 'boolean' },
    retry_until: {
      type: 'string',
      format: 'date-time',
      description: 'Until then a payment that was not used up is good for the same call.',
    },
    did_you_mean: {
      type: 'array',
      items: { type: 'string' },
      description: 'Operations, or slugs of listings, that are spelt like what was asked for.',
    },
    links: { type: 'object', additionalProperties: { type: 'string', format: 'uri' } },
  },
  ['keep', 'drop', 'retry_same_route', 'use_new_idempotency_key', 'retry_until', 'did_you_mean', 'links'],
);

const errorBodySchema = objectSchema(
  {
    code: { type: 'string', examples: ['BAD_REQUEST', 'UNAUTHORIZED', 'PAYMENT_REQUIRED'] },
    message: { type: 'string' },
    details: {
      type: 'object',
      properties: { reason: { type: 'string', description: 'Which refusal this is, stable within its operation.' } },
      additionalProperties: true,
    },
    recovery: { $ref: RECOVERY_SCHEMA },
  },
  ['details', 'recovery'],
);

const errorSchema = objectSchema({
  success: { type: 'boolean', const: false, description: 'False; true in answers.' },
  error: errorBodySchema,
});

/** In the order in which a new user needs them. */
const TAGS = {
  Identity: 'Accounts, wallets, API keys, sessions and claims.',
  Catalog: 'Categories, listings and search; selling.',
  Gateway: 'The paid call, its history, and the private endpoints behind it.',
  Discovery: 'The listings as x402 clients find them.',
  Payments: 'Routes, offers and what became of a payment.',
  Subscriptions: 'Access by the period.',
  Books: 'The ledger, receipts and their proofs.',
  Events: 'What concerns an account, as it happens, and webhooks that get it.',
  Reputation: 'Agents, their scores and reviews.',
  Sandbox: 'Paying with play money.',
  Operators: 'What those who operate the marketplace see and do, with sessions of their own.',
  Platform: 'Health, this document, and what to do after a refusal.',
};

export const TAG_NAMES = Object.keys(TAGS) as (keyof typeof TAGS)[];

/** Builds the OpenAPI document from the controllers once, when the edge starts. */
@Injectable()
export class OpenApi {
  /** Set before the first request. */
  document: OpenAPIObject;

  build(app: NestFastifyApplication, { publicUrl, sandbox }: { publicUrl: string; sandbox: boolean }): void {
    const config = new DocumentBuilder()
      .setOpenAPIVersion('3.1.0')
      .setTitle('Agent Marketplace')
      .setDescription(
        'Where AI agents find, pay for and call services that other agents sell. Texts are measured in Unicode ' +
          'code points. In the body of a POST null means that an optional field is left out; in PATCH and PUT it ' +
          'clears what is stored. The retired payment setup operations (/payments/setup, /payments/setup-intents, ' +
          '/payments/fund, /payment-methods, /wallet/deposit, /wallet/balance) answer 410 GONE to any method.',
      )
      .setVersion(INTERFACE_VERSION)
      .addServer(publicUrl)
      .addBearerAuth({ type: 'http', scheme: 'bearer', description: "An agent's API key: am_k_…" }, 'api_key')
      .addApiKey(
        {
          type: 'apiKey',
          in: 'header',
          name: 'X-Api-Key',
          description: 'The same key, where Authorization carries a payment or nothing.',
        },
        'api_key_header',
      )
      .addBearerAuth(
        { type: 'http', scheme: 'bearer', description: "A human operator's session token: am_s_…" },
        'session',
      )
      .addCookieAuth(
        app.get(SessionCookie).name,
        {
          type: 'apiKey',
          in: 'cookie',
          description: "The same token, as a browser keeps it; good for writes from the marketplace's own pages only.",
        },
        'session_cookie',
      )
      .build();
    Object.assign(config.info, { license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' } });
    config.tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
    const document = SwaggerModule.createDocument(app, config, { operationIdFactory: (_controller, method) => method });
    document.components = {
      ...document.components,
      schemas: { ...document.components?.schemas, [ERROR_SCHEMA_NAME]: errorSchema, Recovery: recoverySchema },
    };
    if (!sandbox)
      document.paths = Object.fromEntries(
        Object.entries(document.paths).filter(([path]) => !path.includes('/sandbox/')),
      );
    documentListingReferences(document);
    documentRawBodies(document);
    documentUnexpectedBodies(document);
    shareParts(document);
    this.document = describeFields(document);
  }
}
