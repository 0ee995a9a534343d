import type { OutputOf } from '@market/contracts';
import { getOidcProvider } from '@market/contracts/identity';
import { HandleRequest } from '@market/messaging';
import { platformConfig, type Check } from '@market/runtime';
import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  discovery,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
  type ClientAuth,
  type Configuration,
  type IDToken,
} from 'openid-client';
import { identityConfig, type IdentityConfig } from '../config.js';

const TIMEOUT_SECONDS = 5;

/** What must be the same when the browser comes back. The browser sees the state alone. */
export interface PendingSignIn {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** Thrown if the provider does not answer, or not as a provider does. */
export class OidcUnavailable extends Error {}

/** The errors of answers that say nothing of the code. */
const UNUSABLE = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
]);

/**
 * The OpenID provider of the configuration: OpenID Connect Core 1.0, the authorization code flow with PKCE (RFC 7636),
 * state and nonce.
 */
@Injectable()
export class OidcProvider {
  private readonly logger = new Logger('OidcProvider');
  private readonly redirectUri: string;
  private found: Promise<Configuration> | undefined;

  constructor(
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
    @Inject(platformConfig.token) { publicUrl }: { publicUrl: string },
  ) {
    this.redirectUri = `${publicUrl}/sign-in/oidc`;
  }

  get issuer(): string | undefined {
    return this.config.oidcIssuer;
  }

  @HandleRequest(getOidcProvider)
  describe(): OutputOf<typeof getOidcProvider> {
    return { issuer: this.issuer ?? null };
  }

  /** @throws OidcUnavailable */
  async begin(): Promise<{ authorizationUrl: string; pending: PendingSignIn }> {
    const pending = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() };
    const provider = await this.discovered();
    const url = buildAuthorizationUrl(provider, {
      redirect_uri: this.redirectUri,
      scope: 'openid profile',
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await calculatePKCECodeChallenge(pending.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { authorizationUrl: url.href, pending };
  }

  /**
   * Exchanges the code.
   * @returns the claims of the ID token; null if they or the code are not good for this sign-in.
   * @throws OidcUnavailable
   */
  async finish(
    { state, nonce, codeVerifier }: PendingSignIn,
    answer: { code: string; state: string; iss?: string },
  ): Promise<IDToken | null> {
    const provider = await this.discovered();
    const url = new URL(this.redirectUri);
    url.search = new URLSearchParams(answer).toString();
    try {
      const tokens = await authorizationCodeGrant(provider, url, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      return tokens.claims() ?? null;
    } catch (error) {
      const isRefused =
        error instanceof ResponseBodyError
          ? error.error === 'invalid_grant'
          : error instanceof ClientError && !UNUSABLE.has(error.code ?? '');
      this.logger.warn(`the OpenID provider did not confirm a sign-in: ${(error as Error).message}`);
      if (isRefused) return null;
      throw new OidcUnavailable('the code could not be exchanged', { cause: error });
    }
  }

  /** Reads the provider's metadata once; after a failure, again. */
  private discovered(): Promise<Configuration> {
    this.found ??= discover(this.config).catch((cause: unknown) => {
      this.found = undefined;
      this.logger.warn(`the OpenID provider is unavailable: ${(cause as Error).message}`);
      throw new OidcUnavailable('its metadata could not be read', { cause });
    });
    return this.found;
  }
}

function discover({ oidcIssuer, oidcClientId, oidcClientSecret }: IdentityConfig): Promise<Configuration> {
  const issuer = new URL(oidcIssuer!);
  return discovery(issuer, oidcClientId!, undefined, authenticate(oidcClientSecret), {
    timeout: TIMEOUT_SECONDS,
    ...(issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
  });
}

export const oidcProviderCheck = (config: IdentityConfig): Check => ({
  variable: 'OIDC_ISSUER',
  subject: `OpenID provider ${config.oidcIssuer}`,
  async problems() {
    await discover(config);
    return [];
  },
});

/** By the method of the standard, unless the provider's metadata leave it out. */
function authenticate(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    return ((methods?.includes('client_secret_basic') ?? true) ? basic : post)(server, ...rest);
  };
}
