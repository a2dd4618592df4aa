// Style sheets that tests read as text.
declare module "*.css" {
  const text: string;
  export default text;
}
