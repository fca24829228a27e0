import { Document, visit } from 'yaml'

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Bidirectional controls make a text read as another one. */
const TURNING = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'

const HIDDEN_IN_TEXT = new RegExp(`[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f${TURNING}]`, 'g')
const HIDDEN_IN_JSON = new RegExp(`[\\u007f-\\u009f${TURNING}]`, 'g')
const HIDDEN_IN_YAML = new RegExp(`[\\u007f-\\u0084\\u0086-\\u009f${TURNING}]`, 'g')
const TURNED = new RegExp(`[${TURNING}]`)

/**
 * Server text that is safe for a terminal. Descriptions come from other users, and control characters in them could
 * redraw the screen; line breaks stay.
 */
export const printable = (text: string): string => text.replaceAll(HIDDEN_IN_TEXT, escaped)

/** The same for JSON, which escapes the rest itself. */
export const printableJson = (json: string): string => json.replaceAll(HIDDEN_IN_JSON, escaped)

/** A value as YAML. Only double quotes have escapes; control characters make it use them, others do not. */
export function printableYaml(value: unknown): string {
  const document = new Document(value)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && TURNED.test(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0 }).replaceAll(HIDDEN_IN_YAML, escaped)
}
