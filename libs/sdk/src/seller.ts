/** The part of the SDK for sellers, for Node.js and runtimes with its modules. */
export { SignatureError } from './errors.js';
export type { SignatureFailure } from './errors.js';
export { verifyRequest } from './seller-signature.js';
export type { SellerCall, SignedRequest, SigningSecrets } from './seller-signature.js';
export { reply, sellerServer } from './seller-server.js';
export type { SellerHandler, SellerRequest, SellerServer, SellerServerOptions } from './seller-server.js';
