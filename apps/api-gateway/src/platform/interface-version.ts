/** Of the public interface, as its contract numbers it. */
export const INTERFACE_VERSION = '1.0.0';
