import type { InputOf, OutputOf } from '@market/contracts';
import { beginOidcSignIn } from '@market/contracts/identity';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { FieldCipher } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { OidcProvider } from './oidc-provider.js';
import { oidcUnavailable, sealSignIn, SIGN_IN_SECONDS } from './oidc-sign-in.js';

/** Sends a browser to the OpenID provider. Nothing is stored: the browser keeps what it will be compared with, encrypted. */
@Injectable()
export class BeginOidcSignIn {
  constructor(
    private readonly provider: OidcProvider,
    private readonly cipher: FieldCipher,
  ) {}

  @HandleRequest(beginOidcSignIn)
  async execute(
    _input: InputOf<typeof beginOidcSignIn>,
    { principal }: RequestContext,
  ): Promise<OutputOf<typeof beginOidcSignIn>> {
    if (this.provider.issuer === undefined) throw refuse(beginOidcSignIn, 'oidc_not_configured', {});
    const { authorizationUrl, pending } = await this.provider.begin().catch(oidcUnavailable(beginOidcSignIn));
    const linkTo = principal?.accountType === 'human' ? principal.accountId : null;
    return {
      authorization_url: authorizationUrl,
      state: pending.state,
      sign_in: sealSignIn(this.cipher, { ...pending, linkTo }),
      expires_in: SIGN_IN_SECONDS,
    };
  }
}
