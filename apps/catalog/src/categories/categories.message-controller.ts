import { listCategories } from '@market/contracts/catalog';
import { HandleRequest } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { Categories } from './categories.js';

@Controller()
export class CategoriesMessageController {
  constructor(private readonly categories: Categories) {}

  @HandleRequest(listCategories)
  async listCategories() {
    return { categories: await this.categories.list() };
  }
}
