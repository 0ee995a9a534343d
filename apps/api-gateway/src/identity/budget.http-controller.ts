import type { InputOf, OutputOf } from '@market/contracts';
import { getBudget, updateBudget } from '@market/contracts/identity';
import { getSpending } from '@market/contracts/payments-ledger';
import { MessageBus, principalOf, type RequestContext } from '@market/messaging';
import { Body, Controller, Get, Patch } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../http/access.js';
import { changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { budgetExample, spendingExample } from './identity.examples.js';
import { spendingOf, spendingSchema } from './spending.js';

const answer = {
  schema: envelopeSchema({ allOf: [jsonSchemaOf(getBudget.output), objectSchema({ spending: spendingSchema })] }),
  example: success({ budget: budgetExample, spending: spendingExample }),
};

@ApiTags('Identity')
@Controller('me/budget')
export class BudgetHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'What all keys of the agent may spend together, and have spent',
    description: 'The limits that hold for all its keys together, and what of them is spent.',
    asks: [getBudget, getSpending],
    answer,
  })
  async getBudget(@CurrentContext() context: RequestContext) {
    return this.withSpending(await this.bus.request(getBudget, {}, context), context);
  }

  @Patch()
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Set or remove the budget of the agent, or freeze it',
    description:
      'Bounds all keys of the agent together, beside the budgets of their own; frozen stops all of them ' +
      'from paying. Holds everywhere within a second. Once the agent is claimed its owner alone sets it; ' +
      'until then a key without a budget does. null removes it.',
    asks: [updateBudget, getSpending],
    body: {
      schema: updateBudget.input,
      examples: {
        freeze: { budget: { frozen: true } },
        set: { budget: { per_month_usd: 50 } },
        remove: { budget: null },
      },
    },
    answer,
  })
  async updateBudget(
    @Body(changesOf(updateBudget.input)) body: InputOf<typeof updateBudget>,
    @CurrentContext() context: RequestContext,
  ) {
    return this.withSpending(await this.bus.request(updateBudget, body, context), context);
  }

  private async withSpending({ budget }: OutputOf<typeof getBudget>, context: RequestContext) {
    return success({ budget, spending: await spendingOf(this.bus, principalOf(context).accountId, budget, context) });
  }
}
