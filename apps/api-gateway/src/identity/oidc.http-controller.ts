import type { InputOf } from '@market/contracts';
import { beginOidcSignIn, getOidcProvider, openOidcSession } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { SessionCookie } from '../http/session-cookie.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { beginOidcExample, oidcSessionExample, openOidcSessionBodyExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('auth/oidc')
export class OidcHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly cookie: SessionCookie,
  ) {}

  @Get()
  @Public()
  @Operation({
    summary: 'The OpenID provider for humans',
    description: 'Its issuer, or null if humans sign in with wallets alone.',
    asks: [getOidcProvider],
    cacheable: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(getOidcProvider.output)),
      example: success({ issuer: 'https://login.example.com' }),
    },
  })
  async getOidcProvider(
    @CurrentContext() context: RequestContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCacheable(request, reply, success(await this.bus.request(getOidcProvider, {}, context)));
  }

  @Post()
  @Public({ recognizes: true, rate: 'challenges' })
  @Operation({
    summary: 'Begin to sign in with OpenID Connect',
    description:
      'The browser keeps `sign_in` and `state`, goes to `authorization_url`, and comes back to /sign-in/oidc with a ' +
      'code. With a session the login becomes one more sign-in of its human.',
    asks: [beginOidcSignIn],
    answer: { schema: envelopeSchema(jsonSchemaOf(beginOidcSignIn.output)), example: success(beginOidcExample) },
  })
  async beginOidcSignIn(@CurrentContext() context: RequestContext) {
    return success(await this.bus.request(beginOidcSignIn, {}, context));
  }

  @Post('session')
  @Public({ recognizes: true, rate: 'challenges' })
  @Operation({
    summary: 'Sign in with the code of the OpenID provider',
    description:
      'The first time opens an account, or adds the login to the human whose session began it. A browser keeps the ' +
      'token as a cookie.',
    asks: [openOidcSession],
    body: { schema: openOidcSession.input, examples: { code: openOidcSessionBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(openOidcSession.output)), example: success(oidcSessionExample) },
  })
  async openOidcSession(
    @Body(bodyOf(openOidcSession.input)) body: InputOf<typeof openOidcSession>,
    @CurrentContext() context: RequestContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const session = await this.bus.request(openOidcSession, body, context);
    this.cookie.set(reply, session.session_token, new Date(session.expires_at));
    return success(session);
  }
}
