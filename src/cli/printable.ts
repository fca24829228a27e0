const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Text from the server as a terminal may show it. Descriptions are anybody's words, and control characters in
 * them could redraw the screen; line breaks stay.
 */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, escaped)

/** The same for JSON, which has escaped the rest by itself. */
export const printableJson = (json: string): string => json.replaceAll(/[\u007f-\u009f]/g, escaped)

/** The same for YAML, which puts what holds such characters in double quotes. */
export const printableYaml = (yaml: string): string =>
  yaml.replaceAll(/[\u007f-\u0084\u0086-\u009f]/g, escaped)
