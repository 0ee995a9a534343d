import type { InputOf, OutputOf } from '@market/contracts';
import { openOidcSession, type PublicProfile } from '@market/contracts/identity';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { IDToken } from 'openid-client';
import { findHuman, openHumanAccount, PUBLIC_COLUMNS } from '../agents/accounts.js';
import { isPrintable } from '../printable-text.js';
import { OidcProvider } from './oidc-provider.js';
import { oidcUnavailable, openSealedSignIn } from './oidc-sign-in.js';
import { Sessions } from './sessions.js';

const findLogin = sql(
  'sessions.find-oidc-login',
  `SELECT ${PUBLIC_COLUMNS}
   FROM oidc_logins l JOIN accounts a ON a.id = l.account_id WHERE l.issuer = $1 AND l.subject = $2`,
);
const addLogin = sql(
  'sessions.add-oidc-login',
  'INSERT INTO oidc_logins (issuer, subject, account_id) VALUES ($1, $2, $3)',
);
const MAX_NAME_LENGTH = 100;

/**
 * Signs a human in with a login at the OpenID provider. The first sign-in opens the account, or adds the login to the
 * human's own. Logins are the same by issuer and subject alone, never by an e-mail address, which others may get.
 */
@Injectable()
export class OpenOidcSession {
  constructor(
    private readonly database: Database,
    private readonly provider: OidcProvider,
    private readonly cipher: FieldCipher,
    private readonly sessions: Sessions,
  ) {}

  @HandleRequest(openOidcSession)
  async execute(
    { sign_in: sealed, ...answer }: InputOf<typeof openOidcSession>,
    { principal }: RequestContext,
  ): Promise<OutputOf<typeof openOidcSession>> {
    if (this.provider.issuer === undefined) throw refuse(openOidcSession, 'oidc_not_configured', {});
    const signIn = openSealedSignIn(this.cipher, sealed);
    if (signIn?.state !== answer.state) throw refuse(openOidcSession, 'sign_in_invalid', {});
    const { linkTo } = signIn;
    if (linkTo !== null && principal?.accountId !== linkTo) throw refuse(openOidcSession, 'link_needs_session', {});
    const claims = await this.provider.finish(signIn, answer).catch(oidcUnavailable(openOidcSession));
    if (!claims) throw refuse(openOidcSession, 'sign_in_invalid', {});
    return this.database.transaction(async (tx) => {
      const login = [claims.iss, claims.sub];
      await this.sessions.lockSignIn(tx, login.join(' '));
      const [holder] = await tx.query<PublicProfile>(findLogin, login);
      const human = holder ?? (await this.addLogin(tx, claims, linkTo));
      if (linkTo !== null && human.id !== linkTo) throw refuse(openOidcSession, 'sign_in_of_another', {});
      return this.sessions.open(tx, human, null);
    });
  }

  private async addLogin(tx: Tx, claims: IDToken, linkTo: string | null): Promise<PublicProfile> {
    const human = linkTo === null ? await openHumanAccount(tx, nameIn(claims)) : await findHuman(tx, linkTo);
    await tx.query(addLogin, [claims.iss, claims.sub, human.id]);
    return human;
  }
}

function nameIn({ name, preferred_username: username }: IDToken): string {
  const named = [name, username].find((text) => typeof text === 'string' && isPrintable(text));
  return typeof named === 'string' ? named.trim().slice(0, MAX_NAME_LENGTH) : 'Operator';
}
