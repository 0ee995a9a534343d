// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.20;

/// A smart account: its owner's ECDSA signatures are its own (EIP-1271), until the owner hands it over.
contract OwnedWallet {
    address public owner;

    constructor(address first) {
        owner = first;
    }

    function handOver(address next) external {
        require(msg.sender == owner);
        owner = next;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        require(signature.length == 65, "no ECDSA signature");
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// Deploys smart accounts to addresses known beforehand, as EIP-6492 needs it.
contract WalletFactory {
    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new OwnedWallet{salt: salt}(owner));
    }

    function addressOf(address owner, bytes32 salt) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(OwnedWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }
}

/// Answers nothing in time.
contract EndlessWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        while (true) {}
    }
}

/// Says yes in a word that is not the agreed one: the right four bytes, and more behind them.
contract DirtyWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes32) {
        return bytes32(uint256(0x1626ba7e) << 224) | bytes32(uint256(1));
    }
}
