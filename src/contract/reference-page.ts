export const referencePage = (): string => ''
