import { executeCall, executeKeylessCall } from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ExecuteCall } from './execute-call.use-case.js';
import { ExecuteKeylessCall } from './execute-keyless-call.use-case.js';

@Controller()
export class CallsMessageController {
  constructor(
    private readonly executeCallUseCase: ExecuteCall,
    private readonly executeKeylessCallUseCase: ExecuteKeylessCall,
  ) {}

  @HandleRequest(executeCall)
  executeCall(input: InputOf<typeof executeCall>, context: RequestContext) {
    return this.executeCallUseCase.execute(input, context);
  }

  @HandleRequest(executeKeylessCall)
  executeKeylessCall(input: InputOf<typeof executeKeylessCall>, context: RequestContext) {
    return this.executeKeylessCallUseCase.execute(input, context);
  }
}
