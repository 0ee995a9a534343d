import type { InputOf } from '@market/contracts';
import { closeSession, openSession } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CloseSession } from './close-session.use-case.js';
import { OpenSession } from './open-session.use-case.js';

@Controller()
export class SessionsMessageController {
  constructor(
    private readonly openSessionUseCase: OpenSession,
    private readonly closeSessionUseCase: CloseSession,
  ) {}

  @HandleRequest(openSession)
  openSession(input: InputOf<typeof openSession>, context: RequestContext) {
    return this.openSessionUseCase.execute(input, context);
  }

  @HandleRequest(closeSession)
  closeSession(_input: InputOf<typeof closeSession>, context: RequestContext) {
    return this.closeSessionUseCase.execute(principalOf(context));
  }
}
