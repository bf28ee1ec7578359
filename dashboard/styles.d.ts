/** Style sheets are imported for the bundler; a program gets nothing from them. */
declare module "*.css";
