import type { InputOf } from '@market/contracts';
import { closeSession, openSession } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Delete, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { AnyCredential, Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { SessionCookie } from '../http/session-cookie.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { openSessionBodyExample, sessionExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('auth/session')
export class SessionsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly cookie: SessionCookie,
  ) {}

  @Post()
  @Public({ recognizes: true, rate: 'challenges' })
  @Operation({
    summary: 'Sign in as a human operator',
    description:
      'With a challenge of purpose session; the first time opens an account, or with link and a session adds the ' +
      'wallet to its human. The token is shown in this answer and never again: it goes into Authorization as a ' +
      'Bearer token, and a browser keeps it as a cookie.',
    asks: [openSession],
    body: { schema: openSession.input, examples: { evm: openSessionBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(openSession.output)), example: success(sessionExample) },
  })
  async openSession(
    @Body(bodyOf(openSession.input)) body: InputOf<typeof openSession>,
    @CurrentContext() context: RequestContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const session = await this.bus.request(openSession, body, context);
    this.cookie.set(reply, session.session_token, new Date(session.expires_at));
    return success(session);
  }

  @Delete()
  @AnyCredential(['human'])
  @Operation({
    summary: 'Sign out',
    description: 'The session that is presented ends everywhere within a second; others of the same human go on.',
    asks: [closeSession],
    answer: { schema: envelopeSchema(jsonSchemaOf(closeSession.output)), example: success({ ended: true }) },
  })
  async closeSession(@CurrentContext() context: RequestContext, @Res({ passthrough: true }) reply: FastifyReply) {
    const ended = await this.bus.request(closeSession, {}, context);
    this.cookie.clear(reply);
    return success(ended);
  }
}
