/** The version of the public interface. */
export const INTERFACE_VERSION = '1.0.0';
