const LENGTH = /^\d{1,15}$/

/** The value of Content-Length; undefined when it is not valid. */
export const readLength = (value: string): number | undefined =>
  LENGTH.test(value) ? Number(value) : undefined
