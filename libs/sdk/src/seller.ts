/** The part of the SDK for sellers, for Node.js and runtimes with its modules. */
export { SignatureError } from './errors.js';
export type { SignatureFailure } from './errors.js';
export { verifyRequest } from './seller-signature.js';
export type { SellerCall, SignedRequest, SigningSecrets } from './seller-signature.js';
export { file, reply, used } from './seller-replies.js';
export { job, JobDelivery } from './seller-job.js';
export type { JobProgress, JobWork } from './seller-job.js';
export { sellerServer } from './seller-server.js';
export type { SellerHandler, SellerRequest, SellerServer, SellerServerOptions, SentEvent } from './seller-server.js';
export { mcpServices } from './mcp-services.js';
export type { McpCall, McpResult, McpTool } from './mcp-services.js';
export { openApiServices } from './openapi-services.js';
export type { OpenApiOptions } from './openapi-services.js';
export type { Service } from './service.js';
