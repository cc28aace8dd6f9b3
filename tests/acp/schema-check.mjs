// Checks messages of an agent against the official JSON schema of ACP.
//
// The schema allows any further field, so a misspelt one would pass.  The protocol
// itself does not: what is not specified belongs below `_meta`.  Here, therefore,
// every field that the schema does not name is a violation.

import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";

const schemaFile = (name) => {
  const url = import.meta.resolve(`@agentclientprotocol/sdk`);
  return JSON.parse(readFileSync(new URL(`../../../schema/v1/${name}`, url), "utf8"));
};

/** Fields of the unstable schema that Magent sends, and that stable clients ignore. */
const UNSTABLE_FIELDS = [
  ["PromptResponse", "usage", "Usage"],
  ["SessionCapabilities", "fork", "SessionForkCapabilities"],
];

/** Messages of the unstable schema that Magent speaks. */
const UNSTABLE_TYPES = ["ForkSessionRequest", "ForkSessionResponse"];

/** Updates that may only be sent to clients that said that they know them. */
const OPTIONAL_UPDATES = new Set(["notice", "compaction_update", "compaction_summary_chunk"]);

const schema = closed(withUnstableFields(schemaFile("schema.json")));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");

/**
 * What is wrong with a request or notification, as a list of texts.
 * `kind` is "Request" or "Notification".
 */
export function checkParams(method, kind, params) {
  const problems = check(definition("client", method, kind), params, `${kind} ${method}`);
  const update = params?.update?.sessionUpdate;
  if (OPTIONAL_UPDATES.has(update))
    problems.push(`the client did not ask for ${update} updates`);
  return problems;
}

/** What is wrong with the result of a request of the given method. */
export function checkResult(method, result) {
  // Extensions begin with an underscore and answer what they like.
  if (method.startsWith("_")) return [];
  return check(definition("agent", method, "Response"), result, `result of ${method}`);
}

/** What is wrong with an error. */
export function checkError(error) {
  return check("Error", error, "error");
}

function definition(side, method, kind) {
  return Object.keys(schema.$defs).find((name) => {
    const { "x-side": definedSide, "x-method": definedMethod } = schema.$defs[name];
    return definedSide === side && definedMethod === method && name.endsWith(kind);
  });
}

function check(name, value, what) {
  if (!name) return [`${what}: the protocol has no such message`];
  const validate = ajv.getSchema(`acp#/$defs/${name}`);
  if (validate(value)) return [];
  return [`${what}: ${ajv.errorsText(validate.errors)}`];
}

function withUnstableFields(stable) {
  const unstable = schemaFile("schema.unstable.json");
  for (const [type, field, fieldType] of UNSTABLE_FIELDS) {
    stable.$defs[type].properties[field] = unstable.$defs[type].properties[field];
    stable.$defs[fieldType] = unstable.$defs[fieldType];
  }
  for (const type of UNSTABLE_TYPES) stable.$defs[type] = unstable.$defs[type];
  return stable;
}

// Closes every place that holds an object of known fields.  The types themselves stay
// open, since some are parts of others.
function closed(root) {
  const close = (node) =>
    hasKnownFields(root, node)
      ? { allOf: [walk(node)], unevaluatedProperties: false }
      : walk(node);
  const walk = (node) => {
    if (Array.isArray(node)) return node.map(walk);
    if (node === null || typeof node !== "object") return node;
    const copy = {};
    for (const [key, value] of Object.entries(node)) {
      if (key === "properties") {
        copy[key] = Object.fromEntries(
          Object.entries(value).map(([name, field]) => [name, close(field)]),
        );
      } else {
        copy[key] = key === "items" ? close(value) : walk(value);
      }
    }
    return copy;
  };
  const $defs = {};
  for (const [name, type] of Object.entries(root.$defs)) {
    $defs[name] = "x-method" in type || name === "Error" ? close(type) : walk(type);
    $defs[name]["x-side"] = type["x-side"];
    $defs[name]["x-method"] = type["x-method"];
  }
  return { $schema: root.$schema, $defs };
}

function hasKnownFields(root, node) {
  if (node === null || typeof node !== "object") return false;
  if (node.$ref) return hasKnownFields(root, root.$defs[node.$ref.split("/").pop()]);
  if (node.properties) return true;
  return ["allOf", "anyOf", "oneOf"].some((key) =>
    node[key]?.some((part) => hasKnownFields(root, part)),
  );
}
