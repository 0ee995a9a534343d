// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A payer with code (ERC-1271).
interface Wallet {
    function isValidSignature(bytes32 digest, bytes memory signature) external view returns (bytes4);
}

library Signatures {
    /// The zero address for what is no ECDSA signature.
    function signerOf(bytes32 digest, bytes memory signature) internal pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        return ecrecover(digest, v, r, s);
    }
}

/// USDC as far as it is used here: moves by the payer's signature (EIP-3009), asks a payer that has code for it, and logs
/// as FiatTokenV2_2 of Circle does.
contract SignedToken {
    string public constant symbol = "USDC";
    string public constant name = "USDC";
    string public constant version = "2";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;
    mapping(address => mapping(address => uint256)) public allowance;
    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    bytes32 constant TRANSFER = keccak256("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"), keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this)));
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        require(allowance[from][msg.sender] >= value, "ERC20: insufficient allowance");
        if (allowance[from][msg.sender] != type(uint256).max) allowance[from][msg.sender] -= value;
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }

    /// Of the sender's own: USDC takes a signature for it.
    function cancelAuthorization(bytes32 nonce) external {
        require(!authorizationState[msg.sender][nonce], "FiatTokenV2: authorization is used or canceled");
        authorizationState[msg.sender][nonce] = true;
        emit AuthorizationCanceled(msg.sender, nonce);
    }

    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes memory signature) public {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!authorizationState[from][nonce], "FiatTokenV2: authorization is used or canceled");
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce))));
        bool signed = from.code.length == 0
            ? Signatures.signerOf(digest, signature) == from
            : Wallet(from).isValidSignature(digest, signature) == Wallet.isValidSignature.selector;
        require(signed, "FiatTokenV2: invalid signature");
        authorizationState[from][nonce] = true;
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }
}

/// A wallet with code, whose signatures are its owner's in an envelope and over a hash of its own, as Coinbase Smart Wallet's are.
contract EnvelopeWallet is Wallet {
    address public immutable owner;

    constructor(address first) {
        owner = first;
    }

    function isValidSignature(bytes32 digest, bytes memory signature) external view returns (bytes4) {
        (uint256 ownerIndex, bytes memory own) = abi.decode(signature, (uint256, bytes));
        bytes32 bound = keccak256(abi.encode(digest, address(this)));
        return ownerIndex == 0 && Signatures.signerOf(bound, own) == owner ? Wallet.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// What an account with a key delegates to (EIP-7702): signatures of its own key, over the digest itself.
contract DelegatedWallet is Wallet {
    function isValidSignature(bytes32 digest, bytes memory signature) external view returns (bytes4) {
        return Signatures.signerOf(digest, signature) == address(this) ? Wallet.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// Deploys wallets to addresses known beforehand (EIP-6492).
contract WalletFactory {
    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new EnvelopeWallet{salt: salt}(owner));
    }

    function addressOf(address owner, bytes32 salt) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(EnvelopeWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }
}

/// Calls in one transaction.
contract Batch {
    function all(address target, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = target.call(calls[i]);
            require(done, "Batch: a call failed");
        }
    }
}

/// As far as it is used here: calls in one transaction, of which each may fail. It logs nothing.
contract Multicall3 {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    struct Call {
        address target;
        bytes callData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (results[i].success, results[i].returnData) = calls[i].target.call(calls[i].callData);
            require(results[i].success || !requireSuccess, "Multicall3: call failed");
        }
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (results[i].success, results[i].returnData) = calls[i].target.call(calls[i].callData);
            require(results[i].success || calls[i].allowFailure, "Multicall3: call failed");
        }
    }
}

/// What Permit2 of Uniswap does for the proxies below: it moves any token that its owner has approved, by a signature that
/// names the spender and what the spender has to do with it. Each nonce is a bit.
contract Permit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    error InvalidNonce();
    error InvalidSignature();
    error InvalidAmount(uint256 maxAmount);
    error SignatureExpired(uint256 signatureDeadline);
    mapping(address => mapping(uint256 => uint256)) public nonceBitmap;
    bytes32 constant PERMISSIONS = keccak256("TokenPermissions(address token,uint256 amount)");

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)"), keccak256("Permit2"), block.chainid, address(this)));
    }

    function invalidateUnorderedNonces(uint256 word, uint256 mask) external {
        nonceBitmap[msg.sender][word] |= mask;
    }

    function permitWitnessTransferFrom(PermitTransferFrom memory permit, SignatureTransferDetails calldata details, address owner, bytes32 witness, string calldata witnessType, bytes calldata signature) external {
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        if (details.requestedAmount > permit.permitted.amount) revert InvalidAmount(permit.permitted.amount);
        uint256 bit = 1 << (permit.nonce & 255);
        if (nonceBitmap[owner][permit.nonce >> 8] & bit != 0) revert InvalidNonce();
        nonceBitmap[owner][permit.nonce >> 8] |= bit;
        bytes32 digest = digestOf(permit, witness, witnessType);
        bool signed = owner.code.length == 0
            ? Signatures.signerOf(digest, signature) == owner
            : Wallet(owner).isValidSignature(digest, signature) == Wallet.isValidSignature.selector;
        if (!signed) revert InvalidSignature();
        require(SignedToken(permit.permitted.token).transferFrom(owner, details.to, details.requestedAmount), "TRANSFER_FROM_FAILED");
    }

    function digestOf(PermitTransferFrom memory permit, bytes32 witness, string calldata witnessType) internal view returns (bytes32) {
        bytes32 typeHash = keccak256(abi.encodePacked("PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,", witnessType));
        bytes32 permissions = keccak256(abi.encode(PERMISSIONS, permit.permitted.token, permit.permitted.amount));
        bytes32 structHash = keccak256(abi.encode(typeHash, permissions, msg.sender, permit.nonce, permit.deadline, witness));
        return keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash));
    }
}

/// What the proxy of x402 for `upto` does: the facilitator that was signed moves at most what was signed.
contract UptoProxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    error UnauthorizedFacilitator();
    error AmountExceedsPermitted();
    error PaymentTooEarly();
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    bytes32 constant WITNESS = keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    function settle(Permit2.PermitTransferFrom calldata permit, uint256 amount, address owner, Witness calldata witness, bytes calldata signature) external {
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            Permit2.SignatureTransferDetails(witness.to, amount),
            owner,
            keccak256(abi.encode(WITNESS, witness.to, witness.facilitator, witness.validAfter)),
            "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)",
            signature
        );
    }
}

/// What the proxy of x402 for `exact` does: anybody moves what was signed, to whom it was signed for.
contract ExactProxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    error PaymentTooEarly();
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    bytes32 constant WITNESS = keccak256("Witness(address to,uint256 validAfter)");

    function settle(Permit2.PermitTransferFrom calldata permit, address owner, Witness calldata witness, bytes calldata signature) external {
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            Permit2.SignatureTransferDetails(witness.to, permit.permitted.amount),
            owner,
            keccak256(abi.encode(WITNESS, witness.to, witness.validAfter)),
            "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)",
            signature
        );
    }
}

/// USDC as some chains have it: it takes no signatures of its own.
contract PlainToken {
    string public constant symbol = "USDC";
    string public constant name = "Bridged USDC";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "ERC20: insufficient allowance");
        if (allowance[from][msg.sender] != type(uint256).max) allowance[from][msg.sender] -= value;
        return move(from, to, value);
    }

    function move(address from, address to, uint256 value) internal returns (bool) {
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
