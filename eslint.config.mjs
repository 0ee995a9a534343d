export { default } from './.config/eslint.mjs';
