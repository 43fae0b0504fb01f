import { spawn } from "node:child_process";

/** Opens an address in the user's browser; where that cannot be done nothing happens, since the address is printed too. */
export function openBrowser(address: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  if (command === undefined) return;
  const child = spawn(command, [...args, address], { detached: true, stdio: "ignore" });
  child.on("error", () => {});
  child.unref();
}

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
