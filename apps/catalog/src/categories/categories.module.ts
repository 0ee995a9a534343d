import { Module } from '@nestjs/common';
import { Categories } from './categories.js';

@Module({ providers: [Categories], exports: [Categories] })
export class CategoriesModule {}
