export function checkoutBundle(): string | undefined
