// Verifies the delivery {secret, payload, headers} on standard input with the reference library; says what it holds.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, payload, headers } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(new Webhook(secret).verify(payload, headers)));
