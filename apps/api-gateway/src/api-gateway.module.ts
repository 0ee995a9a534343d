import { LimitsModule } from '@market/limits';
import { Module } from '@nestjs/common';
import { AdminActionsHttpController } from './admin/admin-actions.http-controller.js';
import { AdminReportsHttpController } from './admin/admin-reports.http-controller.js';
import { AgentsHttpController } from './agents/agents.http-controller.js';
import { LedgerHttpController } from './books/ledger.http-controller.js';
import { ReceiptsHttpController } from './books/receipts.http-controller.js';
import { SigningKeysHttpController } from './books/signing-keys.http-controller.js';
import { apiGatewayConfig } from './config.js';
import { EndpointsHttpController } from './endpoints/endpoints.http-controller.js';
import { EventStreams } from './events/event-streams.js';
import { EventsHttpController } from './events/events.http-controller.js';
import { FeesHttpController } from './fees/fees.http-controller.js';
import { StatementsHttpController } from './books/statements.http-controller.js';
import { RefundsHttpController } from './refunds/refunds.http-controller.js';
import { ExecuteCallHttpController } from './gateway/execute-call.http-controller.js';
import { ExecuteKeylessCallHttpController } from './gateway/execute-keyless-call.http-controller.js';
import { GatewayRequestsHttpController } from './gateway/gateway-requests.http-controller.js';
import { Authenticator } from './http/authenticator.js';
import { RateLimiter } from './http/rate-limiter.js';
import { ServerSentEvents } from './http/server-sent-events.js';
import { SessionCookie } from './http/session-cookie.js';
import { ApiKeysHttpController } from './identity/api-keys.http-controller.js';
import { BudgetHttpController } from './identity/budget.http-controller.js';
import { ChallengesHttpController } from './identity/challenges.http-controller.js';
import { ProfileHttpController } from './identity/profile.http-controller.js';
import { ClaimsHttpController } from './identity/claims.http-controller.js';
import { RecoverHttpController } from './identity/recover.http-controller.js';
import { RegisterHttpController } from './identity/register.http-controller.js';
import { OidcHttpController } from './identity/oidc.http-controller.js';
import { SessionsHttpController } from './identity/sessions.http-controller.js';
import { WalletsHttpController } from './identity/wallets.http-controller.js';
import { JobsHttpController } from './jobs/jobs.http-controller.js';
import { BrowseListingsHttpController } from './listings/browse-listings.http-controller.js';
import { SellListingsHttpController } from './listings/sell-listings.http-controller.js';
import { ValidateListingHttpController } from './listings/validate-listing.http-controller.js';
import { McpHttpController } from './mcp/mcp.http-controller.js';
import { OpenApi } from './openapi/openapi.js';
import { AnswerStreams } from './gateway/answer-streams.js';
import { AnswerFiles } from './gateway/answer-files.js';
import { DisplayNames } from './display-names/display-names.js';
import { PaymentRoutesHttpController } from './payment-routes/payment-routes.http-controller.js';
import { PaymentsHttpController } from './payments/payments.http-controller.js';
import { DocumentsHttpController } from './platform/documents.http-controller.js';
import { HealthHttpController } from './platform/health.http-controller.js';
import { RecoveryActionsHttpController } from './platform/recovery-actions.http-controller.js';
import { RetiredSetupHttpController } from './platform/retired-setup.http-controller.js';
import { WellKnownHttpController } from './platform/well-known.http-controller.js';
import { ReviewsHttpController } from './reputation/reviews.http-controller.js';
import { ScoresHttpController } from './reputation/scores.http-controller.js';
import { SandboxPaymentsHttpController } from './sandbox/sandbox-payments.http-controller.js';
import { SubscribeHttpController } from './subscriptions/subscribe.http-controller.js';
import { SubscriptionsHttpController } from './subscriptions/subscriptions.http-controller.js';
import { RelayWebhooksHttpController } from './webhooks/relay-webhooks.http-controller.js';
import { WebhooksHttpController } from './webhooks/webhooks.http-controller.js';
import { DiscoveryHttpController } from './x402/discovery.http-controller.js';

@Module({
  imports: [LimitsModule.configuredBy(apiGatewayConfig)],
  controllers: [
    HealthHttpController,
    ChallengesHttpController,
    RegisterHttpController,
    RecoverHttpController,
    OidcHttpController,
    SessionsHttpController,
    WalletsHttpController,
    ClaimsHttpController,
    ProfileHttpController,
    BudgetHttpController,
    ApiKeysHttpController,
    BrowseListingsHttpController,
    SellListingsHttpController,
    ValidateListingHttpController,
    EndpointsHttpController,
    ExecuteCallHttpController,
    ExecuteKeylessCallHttpController,
    GatewayRequestsHttpController,
    JobsHttpController,
    DiscoveryHttpController,
    EventsHttpController,
    WebhooksHttpController,
    LedgerHttpController,
    ReceiptsHttpController,
    FeesHttpController,
    RefundsHttpController,
    StatementsHttpController,
    SubscribeHttpController,
    SubscriptionsHttpController,
    PaymentsHttpController,
    PaymentRoutesHttpController,
    SigningKeysHttpController,
    ReviewsHttpController,
    AgentsHttpController,
    ScoresHttpController,
    SandboxPaymentsHttpController,
    RelayWebhooksHttpController,
    RecoveryActionsHttpController,
    RetiredSetupHttpController,
    DocumentsHttpController,
    WellKnownHttpController,
    McpHttpController,
    AdminReportsHttpController,
    AdminActionsHttpController,
  ],
  providers: [
    AnswerFiles,
    AnswerStreams,
    Authenticator,
    EventStreams,
    RateLimiter,
    ServerSentEvents,
    SessionCookie,
    DisplayNames,
    OpenApi,
  ],
})
export class ApiGatewayModule {}
