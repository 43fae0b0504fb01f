/** Where Pi finds the extension: it names one after the folder of its `index.ts`, or after the package. */
export { default } from "./src/host/pi/extension.ts";
