import { Module } from '@nestjs/common';
import { CategoriesMessageController } from './categories.message-controller.js';
import { Categories } from './categories.js';

@Module({ controllers: [CategoriesMessageController], providers: [Categories], exports: [Categories] })
export class CategoriesModule {}
